import NestModel
import NestProtocol
import NestStore

/// A query that the engine answers from what it holds. Each has a file of its own in this folder.
package protocol EngineQuery: Query {
    /// Answers on the engine's thread, after the writes of a batch. A `StoreError.refused` is sent as an ERROR instead of the answer.
    ///
    /// Leave out what `asker.scope` does not let the token see.
    func answer(_ engine: Engine, _ asker: EngineConnection, now: Int64) throws(StoreError) -> Answer

    /// About how many bytes an answer takes, if that may be much: it counts against what the connection has not read yet.
    func byteCount(_ answer: Answer) -> Int
}

extension EngineQuery {
    package func byteCount(_ answer: Answer) -> Int { 0 }

    /// The answer as the engine sends it.
    func reply(_ engine: Engine, _ asker: EngineConnection, now: Int64) throws(StoreError) -> EngineReply {
        let answer = try self.answer(engine, asker, now: now)
        return .answer(answer, byteCount: self.byteCount(answer))
    }
}
