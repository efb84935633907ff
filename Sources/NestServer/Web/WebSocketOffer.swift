import NIOHTTP1
import NestModel

/// A client's offer to speak the protocol over WebSocket (RFC 6455).
package struct WebSocketOffer: Equatable, Sendable {
    /// The name of the protocol in `Sec-WebSocket-Protocol`.
    package static let subprotocol = "nest.1"
    /// Base64 of the 16 random bytes that the answer must prove to have read.
    package let key: String

    package init(_ head: HTTPRequestHead) throws(WebRefusal) {
        guard head.method == .GET, head.version == .http1_1 else {
            throw WebRefusal(.methodNotAllowed, "a WebSocket begins with GET and HTTP/1.1")
        }
        let upgrades = try head.tokens("upgrade").map { $0.lowercased() }
        let options = try head.tokens("connection").map { $0.lowercased() }
        guard upgrades.contains("websocket"), options.contains("upgrade") else {
            throw WebRefusal(
                .upgradeRequired,
                "this is the address for WebSocket clients: connect with the subprotocol \(Self.subprotocol)"
            )
        }
        guard try head.value("sec-websocket-version") == "13" else {
            throw WebRefusal(.upgradeRequired, "this server speaks version 13 of WebSocket")
        }
        guard let key = try head.value("sec-websocket-key"), Self.isKey(key) else {
            throw WebRefusal(.badRequest, "Sec-WebSocket-Key must be 16 bytes in base64")
        }
        guard try head.tokens("sec-websocket-protocol").contains(Self.subprotocol) else {
            throw WebRefusal(.badRequest, "the client must offer the subprotocol \(Self.subprotocol)")
        }
        self.key = key
    }

    private static func isKey(_ text: String) -> Bool { text.utf8.count == 24 && Base64.bytes(text)?.count == 16 }
}
