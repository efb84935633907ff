import NestModel
import NestProtocol
import NestStore

extension Explain: EngineQuery {
    package func answer(_ engine: Engine, _ asker: EngineConnection, now: Int64) throws(StoreError)
        -> ExplanationMessage
    {
        let explanations = Explanations(store: engine.store, scopes: engine.scopes, live: engine.queries.live)
        return ExplanationMessage(try explanations.explain(self.request, asker.scope))
    }

    package func byteCount(_ answer: ExplanationMessage) -> Int { 4 << 10 }
}
