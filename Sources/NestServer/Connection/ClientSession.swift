import NIOCore
import NestModel
import NestProtocol

/// Who the client is, and what it may do.
struct ClientSession {
    /// As HELLO names it, printable.
    var clientName = ""
    /// What the client may do; nothing of it counts before it is let in.
    var access = Access()
    /// The answer to a wrong token, while it is delayed.
    var refusal: Scheduled<Void>?

    // After WELCOME.
    private(set) var wasWelcomed = false
    /// What both sides support.
    private(set) var features: Features = []
    private(set) var number: UInt64 = 0

    mutating func welcomed(_ features: Features, number: UInt64) {
        self.wasWelcomed = true
        self.features = features
        self.number = number
    }

    mutating func cancelRefusal() {
        self.refusal?.cancel()
        self.refusal = nil
    }
}
