"""The read line: a request is recognised, parsed, answered from memory and rendered; nothing waits on a source."""
