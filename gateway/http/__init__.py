"""The one port of the gateway: the websocket, the endpoints under ``/v1/``, and the page."""
