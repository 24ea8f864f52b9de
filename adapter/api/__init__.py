"""The read line: a request is recognised, parsed, answered from memory and rendered. Nothing of it waits on a source."""
