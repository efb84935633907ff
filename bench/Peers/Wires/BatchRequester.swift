/// Sends different requests in order, on a connection of one kind.
public final class BatchRequester<Wire: RequestWire>: RequestWire {
    public let opening: [UInt8]
    private let wire: Wire
    private let requests: [[UInt8]]
    private var next = 0

    /// Creates all requests in advance, so that no figure includes that time. `wire`: returns a wire that sends the
    /// n-th request.
    public init(_ count: Int, _ wire: (Int) -> Wire) {
        self.requests = (0..<count).map {
            var bytes: [UInt8] = []
            wire($0).appendRequest(to: &bytes)
            return bytes
        }
        self.wire = wire(0)
        self.opening = self.wire.opening
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        try self.wire.take(bytes, reply: &reply)
    }

    public func appendRequest(to output: inout [UInt8]) {
        output += self.requests[self.next]
        self.next += 1
    }
}
