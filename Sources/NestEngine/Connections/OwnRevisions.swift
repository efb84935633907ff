import NestModel

/// Notifies connections, before the diffs of a batch, which of its revisions are their own writes. The receipts, which
/// say so too, come after the diffs.
struct OwnRevisions {
    let connections: EngineConnections

    /// After a batch. A blocked connection is notified when it drains.
    func push(of writes: [WriteRequest], _ outcomes: [Commit.Outcome], _ effects: inout [EngineEffect]) {
        var own: [ConnectionID: [Revision]] = [:]
        var order: [ConnectionID] = []
        for index in writes.indices {
            let id = writes[index].connection
            guard let connection = self.connections[id], !connection.views.isEmpty, !connection.isBlocked,
                case .committed(let receipt) = outcomes[index]
            else { continue }
            let revisions = receipt.ownRevisions
            guard !revisions.isEmpty else { continue }
            if own[id] == nil { order.append(id) }
            own[id, default: []] += revisions
        }
        for id in order { effects.append(.own(own[id]!, to: id)) }
    }

    /// The same for the replies that a connection's net diffs hold back.
    func pushHeld(by connection: EngineConnection, _ effects: inout [EngineEffect]) {
        guard !connection.views.isEmpty else { return }
        let own = connection.heldReplies.flatMap { held -> [Revision] in
            if case .receipt(let receipt) = held.reply { receipt.ownRevisions } else { [] }
        }
        if !own.isEmpty { effects.append(.own(own, to: connection.id)) }
    }
}

extension Receipt {
    /// The revisions that the write became; none when it changed nothing, or did so on an earlier connection.
    fileprivate var ownRevisions: [Revision] {
        guard self.isChanged, !self.isReplayed else { return [] }
        return (0..<self.revisionCount).reversed().map { Revision(self.revision.rawValue - UInt64($0)) }
    }
}
