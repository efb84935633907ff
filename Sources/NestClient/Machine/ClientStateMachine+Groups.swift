import NestModel
import NestProtocol

/// The group that the connection has open, or had: writes of a group that has ended with its connection are not made
/// outside of it, until the owner has been told.
///
///     none ──GROUP──▶ open ──END_GROUP is asked for──▶ none
///                      └──connection lost──▶ lost ──it is asked for──▶ none, and it fails with NOT_FOUND
enum GroupPhase: Equatable, Sendable {
    case none
    case open(UInt64)
    case lost
}

extension ClientStateMachine {
    /// A caller's END_GROUP; without a caller, one whose answer nobody waits for.
    package mutating func endGroup(_ token: RequestToken?) -> [ClientAction] {
        defer { self.group = .none }
        guard self.group != .lost else { return token.map { [.fail($0, Self.groupLost(.notFound))] } ?? [] }
        if let token { return self.submit(OutgoingRequest(owner: .caller(token), kind: .connection, EndGroup())) }
        return self.group == .none ? [] : self.leaveGroup()
    }

    mutating func received(_ group: Group, id: UInt32) -> [ClientAction] {
        guard let request = self.requests[id]?.request else { return [] }
        let actions = self.finish(id, .group(group.number))
        guard request.type == .beginGroup else { return actions }
        // Without a caller: it has given up, and nobody would end the group.
        guard case .caller = request.owner else { return actions + self.leaveGroup() }
        self.group = .open(group.number)
        return actions
    }

    /// Why a write cannot be made now.
    func groupError(_ request: OutgoingRequest) -> NestError? {
        guard self.group == .lost, request.isPartOfGroups else { return nil }
        return Self.groupLost(.connectionLost)
    }

    /// The request, as a part of the open group.
    func grouped(_ request: OutgoingRequest) -> OutgoingRequest {
        guard case .open(let number) = self.group, request.isPartOfGroups else { return request }
        var request = request
        request.group = number
        return request
    }

    private mutating func leaveGroup() -> [ClientAction] {
        _ = self.requests.submit(OutgoingRequest(owner: .nobody, kind: .connection, EndGroup()))
        return self.flush()
    }

    private static func groupLost(_ code: ErrorCode) -> NestError {
        NestError(
            code,
            "the connection was lost, and with it the group ended: what was written before is one undo entry; end the group, then begin another"
        )
    }
}

extension OutgoingRequest {
    /// Undo, redo and revert end a group.
    fileprivate var isPartOfGroups: Bool { self.type == .transaction || self.type == .importSubtree }
}
