import NIOCore
import NestEngine
import NestModel
import NestProtocol

/// The identity of a connection's client, and its rights.
struct ClientSession {
    /// The client's name in HELLO, made printable.
    var clientName = ""
    /// The client's rights. They apply only after the login.
    var access = Access()
    /// The delayed answer to a wrong token.
    var refusal: Scheduled<Void>?

    // After WELCOME.
    private(set) var wasWelcomed = false
    /// The features that both sides support.
    private(set) var features: Features = []
    private(set) var number: UInt64 = 0
    /// The server's model, as the client knows it.
    var model: ServedModel?

    mutating func welcomed(_ features: Features, number: UInt64, _ model: ServedModel) {
        self.wasWelcomed = true
        self.model = model
        self.features = features
        self.number = number
    }

    mutating func cancelRefusal() {
        self.refusal?.cancel()
        self.refusal = nil
    }
}
