/// A connection to NATS: subscriptions, requests to JetStream, messages to a stream.
///
/// Subscription 1 is for the subject that it follows, subscription 2 for its inbox of replies.
public final class NATSWire: RequestWire {
    public let opening: [UInt8]
    private let request: [UInt8]
    private let hasSetup: Bool
    private var scanner = LineScanner()
    private var isReady = false
    private var isAnswer = false

    /// `follows`: the subject whose messages are counted. `setup`: a request to a JetStream API subject, which must be
    /// answered first. `publishes`: the message of a request, which the stream acknowledges.
    public init(
        number: Int,
        follows: String? = nil,
        setup: (subject: String, json: String)? = nil,
        publishes: (subject: String, text: String)? = nil
    ) {
        let inbox = "_INBOX.\(number)"
        var text = "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true}\r\n"
        if let follows { text += "SUB \(follows) 1\r\n" }
        text += "SUB \(inbox) 2\r\n"
        if let setup { text += "PUB \(setup.subject) \(inbox) \(setup.json.utf8.count)\r\n\(setup.json)\r\n" }
        self.opening = [UInt8]((text + "PING\r\n").utf8)
        self.hasSetup = setup != nil
        self.request =
            publishes.map {
                [UInt8]("PUB \($0.subject) \(inbox) \($0.text.utf8.count)\r\n\($0.text)\r\n".utf8)
            } ?? []
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        var isAnswer = self.isAnswer
        var hasPong = false
        try self.scanner.scan(
            bytes,
            onLine: { line in
                switch line.first {
                case UInt8(ascii: "M"):
                    isAnswer = Self.subscription(line) == UInt8(ascii: "2")
                    return LineScanner.Payload(bytes: line.lastNumber + 2, kept: isAnswer ? 512 : 0)
                case UInt8(ascii: "P"):
                    if line.count > 1, line[1] == UInt8(ascii: "O") {
                        hasPong = true
                    } else {
                        reply += Array("PONG\r\n".utf8)
                    }
                case UInt8(ascii: "H"): throw PeerRefusal("NATS: no responders; JetStream is not available")
                case UInt8(ascii: "-"): throw PeerRefusal("NATS refused: \(line.text)")
                default: break
                }
                return .none
            },
            onPayload: { payload in
                guard isAnswer else { return received.deliveries += 1 }
                guard !Self.isRefusal(payload) else {
                    throw PeerRefusal("NATS refused: \(payload.text)")
                }
                received.answers += 1
            }
        )
        self.isAnswer = isAnswer
        if !self.isReady, self.hasSetup ? received.answers > 0 : hasPong {
            self.isReady = true
            received.isReady = true
            if self.hasSetup { received.answers -= 1 }
        }
        return received
    }

    public func appendRequest(to output: inout [UInt8]) { output += self.request }

    /// Whether a JetStream reply is an error: its JSON then contains `"error":`.
    private static func isRefusal(_ json: UnsafeRawBufferPointer) -> Bool {
        let key = Self.errorKey
        guard json.count >= key.count else { return false }
        return (0...json.count - key.count).contains { json.part($0, key.count).elementsEqual(key) }
    }

    private static let errorKey = Array("\"error\"".utf8)

    /// Returns the first byte of the subscription's number in `MSG subject number [reply] bytes`.
    private static func subscription(_ line: UnsafeRawBufferPointer) -> UInt8? {
        let afterSubject = line.part(min(4, line.count), max(line.count - 4, 0))
        guard let space = afterSubject.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        return space + 1 < afterSubject.count ? afterSubject[space + 1] : nil
    }
}
