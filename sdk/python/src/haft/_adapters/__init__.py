"""Adapters to the tools of agent frameworks. Each module imports its framework only when used."""
