import NestProtocol

/// The message that answers a `Query`, of the type that the query specifies.
package struct ReceivedAnswer: Equatable, Sendable {
    package let message: any Message

    package init(_ message: some Message) {
        self.message = message
    }

    package static func == (a: ReceivedAnswer, b: ReceivedAnswer) -> Bool {
        type(of: a.message).type == type(of: b.message).type && a.message.body == b.message.body
    }
}

/// The type of the message that answers a `Query`.
package struct ExpectedAnswer: Equatable, Sendable {
    package let message: any Message.Type

    package init(_ message: any Message.Type) {
        self.message = message
    }

    package static func == (a: ExpectedAnswer, b: ExpectedAnswer) -> Bool {
        ObjectIdentifier(a.message) == ObjectIdentifier(b.message)
    }
}
