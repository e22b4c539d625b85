"""A model and providers for the benchmarks of the realtime gateway; everything is on loopback and in real sockets."""
