import NestModel
import NestProtocol
import NestStore

extension ListTokens: EngineQuery {
    package func answer(_ engine: Engine, _ asker: EngineConnection, now: Int64) throws(StoreError) -> TokenList {
        TokenList(engine.tokens.descriptions(connections: engine.connections.countsOfTokens))
    }

    package func byteCount(_ answer: TokenList) -> Int { 128 * answer.tokens.count }
}
