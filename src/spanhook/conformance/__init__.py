"""Every way of calling what is gated, and servers on loopback to call: what the matrices are made of.

Nothing is imported here, and one library's ways import only that library and what it is made over.
"""
