import NestModel

/// What a file says of a session: its secret, and the history of the server that has accepted it last. Never printed.
package struct SessionRecord: Hashable, Sendable {
    package var session: Identifier128
    package var history: Identifier128

    package init(session: Identifier128, history: Identifier128) {
        self.session = session
        self.history = history
    }

    /// The bytes of `text`.
    static let byteCount = 66

    /// Two identifiers as 32 hexadecimal digits each, with a space between them and a line feed behind them.
    package var text: String { "\(self.session.hex) \(self.history.hex)\n" }

    /// Returns `nil` for any other text.
    package init?(text: String) {
        guard let session = Identifier128(hex: String(text.prefix(32))),
            let history = Identifier128(hex: String(text.dropFirst(33).prefix(32)))
        else { return nil }
        self.init(session: session, history: history)
        guard self.text == text.lowercased() else { return nil }
    }
}

extension SessionRecord: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "secret" }
    package var debugDescription: String { "secret" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
