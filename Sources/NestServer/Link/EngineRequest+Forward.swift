import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestStore

/// Encodes requests that a node forwards, and decodes their replies.
extension EngineRequest {
    /// The body of the client's request. The rows of an import, and the bytes of a large value, follow it as chunks.
    var forwardedBody: [UInt8] {
        switch self {
        case .transaction(let transaction, _): return TransactionMessage(transaction).body
        case .undo(let key, let options, let expected, _):
            return Undo(key: key, options: options, expected: expected).body
        case .redo(let key, let options, let expected, _):
            return Redo(key: key, options: options, expected: expected).body
        case .revert(let key, let options, let revision, let ofAnyone, _):
            return Revert(key: key, options: options, revision: revision, ofAnyone: ofAnyone).body
        case .beginGroup(let name, let joined): return BeginGroup(name: name, joined: joined).body
        case .endGroup: return EndGroup().body
        case .importSubtree(let staged, _): return ImportSubtree(staged.request).body
        case .createToken(let grant, let hash): return CreateToken(grant, secretHash: hash).body
        case .revokeToken(let number): return RevokeToken(number: number).body
        case .putValue(let staged):
            return PutValue(staged.type, length: staged.length, digest: staged.digest).body
        case .reserveIDs(let count): return ReserveIDs(count: count).body
        case .undoState, .subscribe, .resubscribe, .setExpanded, .subscribeChanges, .unsubscribe, .fetch, .object,
            .statistics, .setPresence, .followPresence, .forwarded, .query:
            preconditionFailure("a node answers \(self.type) itself")
        }
    }
}

extension EngineRequest {
    /// Whether chunks follow it.
    var isUpload: Bool {
        switch self {
        case .importSubtree, .putValue: true
        default: false
        }
    }
}

extension EngineReply {
    /// Decodes the reply to a forwarded request. `nil`: the frame is none.
    init?(_ frame: Frame) throws(WireError) {
        switch MessageType(rawValue: frame.type) {
        case .receipt: self = .receipt(try ReceiptMessage(body: frame.body).receipt)
        case .error: self = .failure(try ErrorMessage(body: frame.body).error)
        case .group: self = .group(try Group(body: frame.body).number)
        case .done: self = .done
        case .tokenCreated: self = .tokenCreated(try TokenCreated(body: frame.body).number)
        case .reserved:
            let message = try ReservedIDsMessage(body: frame.body)
            self = .reserved(message.first, count: message.count)
        case .value:
            let message = try ValueMessage(body: frame.body)
            self = .value(message.value, message.valueType)
        default: return nil
        }
    }
}
