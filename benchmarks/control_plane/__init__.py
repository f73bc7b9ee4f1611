"""What the control plane's database takes in, how quickly it answers, and what it needs under load."""
