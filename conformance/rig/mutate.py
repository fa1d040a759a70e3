"""Turns good messages into bad ones, the same way for the same seed."""

import random

_NUMBERS = [0, 1, 2, -1, 127, 128, 255, 1 << 16, 1 << 31, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63)]


class Mutator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def data(self, data):
        """Changes the bytes of a message."""
        data = bytearray(data)
        for _ in range(self.random.randint(1, 4)):
            at = self.random.randint(0, len(data))
            length = self.random.randint(1, 8)
            match self.random.randrange(5):
                case 0:
                    del data[at:]
                case 1:
                    del data[at : at + length]
                case 2:
                    data[at:at] = self.random.randbytes(length)
                case 3:
                    data[at : at + length] = self.random.randbytes(length)
                case 4:
                    source = self.random.randint(0, len(data))
                    data[at:at] = data[source : source + 8 * length]
        return bytes(data)

    def graph(self, graph):
        """Changes some nodes of a graph, which stays a message that can be read."""
        for _ in range(self.random.randint(1, 3)):
            nodes = self.random.choice([graph.node, *(f.node_def for f in graph.library.function)])
            if nodes:
                self._node(self.random.choice(nodes), nodes)
        return graph

    def _node(self, node, nodes):
        other = self.random.choice(nodes)
        match self.random.randrange(8):
            case 0 if node.input:
                node.input[self.random.randrange(len(node.input))] = self._input(other)
            case 1:
                node.input.append(self._input(other))
            case 2 if node.input:
                del node.input[self.random.randrange(len(node.input))]
            case 3:
                node.op = other.op
            case 4:
                node.name = self.random.choice([other.name, "", "a b", "^", "x:0", "n" * 5000])
            case 5:
                device = self.random.choice(["/job:nowhere", "/", "/device:GPU:7", "//::", "\\0"])
                node.device = device
            case _:
                self._attr(node, other)

    def _input(self, other):
        shape = ["{}", "{}:0", "{}:1", "^{}", "{}:-1", "{}:4294967296", "gone", ":", "^"]
        return self.random.choice(shape).format(other.name)

    def _attr(self, node, other):
        if not node.attr:
            return
        name = self.random.choice(sorted(node.attr))
        value = node.attr[name]
        match self.random.randrange(6):
            case 0:
                del node.attr[name]
            case 1:
                value.i = self.random.choice(_NUMBERS)
            case 2:
                value.s = self.random.randbytes(self.random.randrange(20))
            case 3:
                value.type = self.random.choice([0, 1, 3, 7, 9, 20, 21, 101, 9999])
            case 4 if value.HasField("tensor"):
                self._tensor(value.tensor)
            case _:
                names = sorted(other.attr)
                if names:
                    value.CopyFrom(other.attr[self.random.choice(names)])

    def _tensor(self, tensor):
        match self.random.randrange(4):
            case 0:
                tensor.tensor_shape.dim.add(size=self.random.choice(_NUMBERS))
            case 1 if tensor.tensor_shape.dim:
                dim = self.random.choice(tensor.tensor_shape.dim)
                dim.size = self.random.choice(_NUMBERS)
            case 2:
                tensor.tensor_content = self.random.randbytes(self.random.randrange(40))
            case _:
                tensor.dtype = self.random.choice([0, 1, 2, 3, 7, 9, 10, 20, 21, 103, 9999])
