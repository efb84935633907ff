import NestModel

/// Which diffs contain a connection's own writes is told before them: the receipts, which say it too, come after.
extension Engine {
    /// Tells connections with live results what their own writes of the batch became. One that does not drain is told
    /// when it has.
    func tellOwn(_ writes: [WriteRequest], _ outcomes: [Commit.Outcome], _ effects: inout [EngineEffect]) {
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

    /// The same from the answers that wait behind the net diffs of a connection.
    func tellHeldOwn(_ id: ConnectionID, _ effects: inout [EngineEffect]) {
        guard let connection = self.connections[id], !connection.views.isEmpty else { return }
        let own = connection.heldReplies.flatMap { held -> [Revision] in
            if case .receipt(let receipt) = held.reply { receipt.ownRevisions } else { [] }
        }
        if !own.isEmpty { effects.append(.own(own, to: id)) }
    }
}

extension Receipt {
    /// The revisions that the write became; none when it changed nothing, or did so on an earlier connection.
    fileprivate var ownRevisions: [Revision] {
        guard self.isChanged, !self.isReplayed else { return [] }
        return (0..<self.revisionCount).reversed().map { Revision(self.revision.rawValue - UInt64($0)) }
    }
}
