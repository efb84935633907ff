import NestModel
import NestProtocol
import NestStore

extension PreviewUndo: EngineQuery {
    package func answer(_ engine: Engine, _ asker: EngineConnection, now: Int64) throws(StoreError)
        -> UndoPreviewMessage
    {
        let previewer = UndoPreviewer(
            store: engine.store,
            scopes: engine.scopes,
            sessions: engine.sessions,
            sides: engine.changeFeeds.sides,
            limits: engine.limits
        )
        var preview = try previewer.preview(self.target, self.options, for: asker, now: now)
        let authors = RevisionAuthors(store: engine.store, admission: engine.admission)
        try authors.fill(&preview.conflicts, for: asker.scope)
        return UndoPreviewMessage(preview)
    }

    package func byteCount(_ answer: UndoPreviewMessage) -> Int { 4 << 10 }
}
