import NestModel
import NestProtocol
import NestSchema
import NestStore

extension ApplyModel: EngineQuery {
    /// Changes the model between two commits. The views of clients go on as they are: every object has the slots that
    /// it had, and what was compiled for the old model is valid in the new one.
    package func answer(_ engine: Engine, _ asker: EngineConnection, now: Int64) throws(StoreError) -> ModelApplied {
        if !self.isDryRun, let refusal = engine.health.refusal { throw .refused(refusal) }
        let report = try engine.store.apply(self.model, isDryRun: self.isDryRun, now: now)
        let outcome: AppliedModel.Outcome
        if report.changes.isEmpty, report.modelHash == engine.served.hash {
            outcome = .unchanged
        } else if self.isDryRun {
            outcome = report.isLive ? .possible : .refused
        } else {
            engine.takeModel()
            outcome = .applied
        }
        // Obstacles first, in case that there are more changes than fit.
        let changes = report.changes.filter { !$0.isLive } + report.changes.filter(\.isLive)
        return ModelApplied(
            AppliedModel(
                outcome: outcome,
                modelHash: report.modelHash,
                rowCount: report.rowCount,
                changes: changes.prefix(Limits.modelChangesMax).map(Self.cut)
            )
        )
    }

    package func byteCount(_ answer: ModelApplied) -> Int {
        answer.applied.changes.reduce(0) { $0 + $1.text.utf8.count + $1.obstacle.utf8.count }
    }

    private static func cut(_ change: ModelChange) -> ModelChange {
        ModelChange(text: self.cut(change.text), obstacle: self.cut(change.obstacle))
    }

    /// Cuts a text after a whole character: regular expressions and names of requests may have any.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > Limits.modelChangeBytesMax else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: Limits.modelChangeBytesMax)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }
}

extension Engine {
    /// Serves the store's model, which has just changed.
    func takeModel() {
        let former = self.served.model
        self.served = ServedModel(self.store)
        self.hasNewModel = true
        self.changeFeeds.modelChanged()
        for id in self.connections.ids { self.connections[id]?.modelChanged(from: former) }
    }

    /// Sends the new model to all connections, before any answer that was made with it.
    func pushModel(_ effects: inout [EngineEffect]) {
        guard self.hasNewModel else { return }
        self.hasNewModel = false
        let ids = self.connections.ids
        if !ids.isEmpty { effects.append(.model(self.served, to: ids)) }
    }

    /// Sends the model to a connection that a standby has welcomed, perhaps with the one before.
    func pushModel(to id: ConnectionID, _ effects: inout [EngineEffect]) {
        guard let welcomed = self.standby.share.model(of: id), welcomed !== self.served else { return }
        self.connections[id]?.modelChanged(from: welcomed.model)
        effects.append(.model(self.served, to: [id]))
    }
}
