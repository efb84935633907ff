/// Sends unary calls, each on its own stream. A call is answered when its stream ends after a message.
public final class GRPCRequester: RequestWire {
    public let opening = HTTP2Frames.opening()
    private let head: [UInt8]
    private let message: (Int) -> [UInt8]
    private var frames = HTTP2Frames()
    private var nextStream: UInt32 = 1
    private var callCount = 0
    private var isReady = false
    /// The streams that have received data and have not ended.
    private var answering: Set<UInt32> = []

    /// `message`: returns the message of the n-th call.
    public init(path: String, message: @escaping (Int) -> [UInt8]) {
        self.head = HTTP2Frames.requestHead(path: path)
        self.message = message
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        try self.frames.scan(bytes, reply: &reply) { header, _ in
            if header.kind == .settings, !self.isReady {
                self.isReady = true
                received.isReady = true
            }
            if header.kind == .data { self.answering.insert(header.stream) }
            guard header.endsStream else { return }
            guard self.answering.remove(header.stream) != nil else {
                throw PeerRefusal("a call failed: its reply has a status and no message")
            }
            received.answers += 1
        }
        return received
    }

    public func appendRequest(to output: inout [UInt8]) {
        output += HTTP2Frames.request(
            stream: self.nextStream,
            head: self.head,
            message: self.message(self.callCount),
            ends: true
        )
        self.nextStream += 2
        self.callCount += 1
    }
}
