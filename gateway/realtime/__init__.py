"""The realtime gateway: a proxy between a voice client and a realtime model that adds the knowledge tool."""
