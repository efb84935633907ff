import NIOCore
import NestEngine
import NestModel
import NestServer
import NestStore
import NestProtocol
import NestFraming

/// Encodes and decodes requests and answers, so that a run sends only requests that the protocol can express, and every
/// answer must be encodable.
enum MeaningWire {
    /// Returns the request that the server reads from a message, or throws its refusal.
    static func request(_ message: some Message) throws(NestError) -> EngineRequest {
        do throws(WireError) {
            let body = ByteBuffer(bytes: message.body)
            guard let request = try EngineRequest(type: Swift.type(of: message).type, body: body) else {
                throw .unsupportedMessage(Swift.type(of: message).type.rawValue)
            }
            // Every request kind that the engine accepts passes here.
            precondition(request.kind.type == Swift.type(of: message).type, "a request has the kind of its message")
            return request
        } catch {
            throw error.nestError
        }
    }

    private static func check<Reply: Message>(_ message: Reply) throws {
        let body = message.body
        let again = try Reply(body: ByteBuffer(bytes: body))
        try MeaningFailure.unless(again.body == body, "an answer is encoded differently after decoding: \(message)")
    }

    /// Encodes an answer as the server does, and decodes it as clients do.
    static func check(_ reply: EngineReply) throws {
        switch reply {
        case .failure(let error): try self.check(ErrorMessage(error))
        case .receipt(let receipt): try self.check(ReceiptMessage(receipt))
        case .subscribed(let view, let first, let reason, let projection):
            try self.check(Subscribed(view: view, first: first, reason: reason, projection: projection))
        case .done: try self.check(Done())
        case .answer(let message, _): try self.check(message)
        case .snapshot(let header, _, _):
            try self.check(SnapshotMessage(header))
            for body in header.bodies { try MeaningFailure.unless(body.count <= Limits.frameBytesMax, "a large frame") }
        case .object(let object): try self.check(ObjectMessage(object.decoded()))
        case .tokenCreated(let number): try self.check(TokenCreated(number: number))
        case .reserved(let first, let count): try self.check(ReservedIDsMessage(first: first, count: count))
        case .value(let value, let type): try self.check(ValueMessage(value, type))
        case .present(let number): try self.check(Present(number: number))
        case .group(let number): try self.check(Group(number: number))
        case .undoState(let state): try self.check(UndoStateMessage(state))
        case .statistics(let values): try self.check(Statistics(values))
        }
    }

    /// Decodes a PRESENCE as clients do.
    static func presence(_ body: [UInt8]) throws -> PresenceMessage {
        let message = try PresenceMessage(body: ByteBuffer(bytes: body))
        try MeaningFailure.unless(message.body == body, "PRESENCE is encoded differently after decoding: \(message)")
        return message
    }

    static func check(_ push: EnginePush) throws {
        switch push.content {
        case .position(let position, let revision): try self.check(Totals(revision: revision, window: position))
        case .end(let code, let message): try self.check(SubscriptionEnd(code: code, message: message))
        case .diff, .snapshot, .changeSet, .totals: break
        }
    }
}
