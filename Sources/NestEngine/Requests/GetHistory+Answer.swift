import NestModel
import NestProtocol
import NestStore

extension GetHistory: EngineQuery {
    package func answer(_ engine: Engine, _ asker: EngineConnection, now: Int64) throws(StoreError) -> History {
        let history = SessionHistory(store: engine.store, sessions: engine.sessions, admission: engine.admission)
        if let object { try asker.scope.confinement(engine.store, engine.scopes)?.require(object) }
        return History(try history.page(for: asker, self))
    }

    package func byteCount(_ answer: History) -> Int { answer.entries.reduce(64) { $0 + 64 + $1.name.utf8.count } }
}
