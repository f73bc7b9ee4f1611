"""Which fields of providers' requests carry text: found in the types of their SDKs, and said to be seen or not."""
