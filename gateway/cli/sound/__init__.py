"""Microphone and speaker of a terminal. `voice.Voice` puts the parts together."""
