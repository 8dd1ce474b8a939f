"""The doors of `serve`: the console for people and the API for programs. They draw views and decide nothing."""
