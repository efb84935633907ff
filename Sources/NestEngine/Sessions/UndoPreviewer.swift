import NestModel
import NestStore

/// Previews an undo, redo or revert: performs it and rolls it back.
struct UndoPreviewer {
    let store: Store
    let scopes: TokenScopes
    let sessions: Sessions
    let sides: PairSides
    let limits: EngineLimits

    func preview(
        _ target: UndoTarget,
        _ options: UndoOptions,
        for connection: EngineConnection,
        now: Int64
    ) throws(StoreError) -> UndoPreview {
        let session = connection.session
        let runner = UndoRunner(store: self.store)
        let confinement = try connection.scope.confinement(self.store, self.scopes)
        if confinement != nil, case .revert = target {
            throw StoreError.refused(.notPermitted, "a token that is confined to a sub-tree cannot preview a revert")
        }
        let work = try runner.work(
            target,
            options,
            expected: nil,
            session,
            self.sessions[session],
            connection.scope
        )
        if let confinement { try runner.check(work, confinement) }
        let description = WriteDescription(name: work.name, key: nil, requestHash: 0, sessionNumber: session)
        let group = try self.store.beginGroup(time: now, alwaysSavepoint: true, isConcerned: { _ in false })
        do {
            let (results, conflicts) = try runner.run(work, description, confinement) { (body) throws(StoreError) in
                try group.request(
                    inSavepoint: true,
                    stepsMax: self.limits.previewStepsMax(connection.scope) - group.steps,
                    body
                )
            }
            var preview = UndoPreview(name: work.shownName, conflicts: conflicts)
            var changes = PreviewedChanges(self.store, self.sides)
            try changes.fill(&preview, from: results.map(\.changes))
            try group.rollback()
            return preview
        } catch {
            try group.rollback()
            switch error {
            case StoreError.retryIndividually(let cause): throw cause
            case StoreError.postponed(.preparation):
                throw StoreError.refused(.busy, "the objects are being removed or restored: try again later")
            default: throw error
            }
        }
    }
}
