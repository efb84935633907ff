import NestModel
import NestProtocol

/// The group of the connection. If a connection is lost with an open group, writes of the group fail, and are not made
/// outside of it, until the owner ends the group.
///
///     none ──GROUP──▶ open ──endGroup──▶ none
///                      └──connection lost──▶ lost ──endGroup──▶ none, and endGroup fails with NOT_FOUND
enum GroupPhase: Equatable, Sendable {
    case none
    case open(UInt64)
    case lost
}

extension ClientStateMachine {
    /// Ends the group for a caller, or without a caller if the answer is not needed.
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
        // Without a caller: the request was abandoned, so no caller would end the group.
        guard case .caller = request.owner else { return actions + self.leaveGroup() }
        self.group = .open(group.number)
        return actions
    }

    /// Returns why a write cannot be made now, or `nil` if it can.
    func groupError(_ request: OutgoingRequest) -> NestError? {
        guard self.group == .lost, request.isPartOfGroups else { return nil }
        return Self.groupLost(.connectionLost)
    }

    /// Returns the request as a part of the open group.
    func grouped(_ request: OutgoingRequest) -> OutgoingRequest {
        guard case .open(let number) = self.group, request.isPartOfGroups else { return request }
        var request = request
        request.group = number
        return request
    }

    private mutating func leaveGroup() -> [ClientAction] {
        _ = self.requests.submit(OutgoingRequest(owner: .noCaller, kind: .connection, EndGroup()))
        return self.flush()
    }

    private static func groupLost(_ code: ErrorCode) -> NestError {
        NestError(
            code,
            "the connection was lost, which ended the group: its writes so far are one undo entry; "
                + "end the group, then begin another"
        )
    }
}

extension OutgoingRequest {
    /// Whether the request becomes part of an open group. Undo, redo and revert end a group instead.
    fileprivate var isPartOfGroups: Bool { self.type == .transaction || self.type == .importSubtree }
}
