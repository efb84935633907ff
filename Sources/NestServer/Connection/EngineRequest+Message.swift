import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// Decodes frames into requests to the engine.
extension EngineRequest {
    /// Returns `nil` when the engine does not answer frames of this type. Also computes the hash of a request with an
    /// idempotency key, here on the event loop: the engine's one thread only compares hashes.
    package init?(type: MessageType, body: ByteBuffer) throws(WireError) {
        switch type {
        case .transaction:
            self = .transaction(try TransactionMessage(body: body).transaction)
        case .undo:
            let message = try Undo(body: body)
            self = .undo(key: message.key, message.options, expected: message.expected)
        case .redo:
            let message = try Redo(body: body)
            self = .redo(key: message.key, message.options, expected: message.expected)
        case .revert:
            let message = try Revert(body: body)
            self = .revert(key: message.key, message.options, message.revision, ofAnyone: message.ofAnyone)
        case .beginGroup:
            let message = try BeginGroup(body: body)
            self = .beginGroup(name: message.name, joined: message.joined)
        case .endGroup:
            self = .endGroup
        case .getUndoState:
            self = .undoState(follows: try GetUndoState(body: body).follows)
        case .setPresence:
            let message = try SetPresence(body: body)
            self = .setPresence(scope: message.scope, bytes: message.bytes)
        case .followPresence:
            let message = try FollowPresence(body: body)
            self = .followPresence(scope: message.scope, follows: message.follows)
        case .fetch:
            let message = try Fetch(body: body)
            self = .fetch(message.request, atLeast: message.atLeast)
        case .getObject:
            self = .object(try GetObject(body: body).id)
        case .subscribe:
            let message = try Subscribe(body: body)
            self = .subscribe(message.request, resume: message.resume, atLeast: message.atLeast)
        case .resubscribe:
            let message = try Resubscribe(body: body)
            self = .resubscribe(view: message.view, message.request)
        case .setExpanded:
            let message = try SetExpanded(body: body)
            self = .setExpanded(view: message.view, message.states)
        case .unsubscribe:
            self = .unsubscribe(view: try Unsubscribe(body: body).view)
        case .subscribeChanges:
            let message = try SubscribeChanges(body: body)
            self = .subscribeChanges(since: message.since, place: message.place, entities: message.entities)
        case .getStatistics:
            self = .statistics
        case .createToken:
            let message = try CreateToken(body: body)
            self = .createToken(message.grant, secretHash: message.secretHash)
        case .revokeToken:
            self = .revokeToken(try RevokeToken(body: body).number)
        case .reserve:
            self = .reserveIDs(try ReserveIDs(body: body).count)
        default:
            guard let query = type.request?.query as? any EngineQuery.Type else { return nil }
            self = .query(try query.init(body: body))
        }
    }
}
