"""Where untrusted code runs. `interface` is the whole contract; `jail` and its neighbours implement it."""
