"""Index adapters that ship with the service. Import the one you need: each loads only what it uses."""
