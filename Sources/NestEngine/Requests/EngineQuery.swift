import NestModel
import NestProtocol
import NestStore

/// A query that the engine answers from its own state. Each has a file of its own in this folder.
package protocol EngineQuery: Query {
    /// Answers on the engine's thread, after the writes of a batch. A `StoreError.refused` is sent as an ERROR instead
    /// of the answer.
    ///
    /// Omit everything that the token may not see: see `asker.scope`.
    func answer(_ engine: Engine, _ asker: EngineConnection, now: Int64) throws(StoreError) -> Answer

    /// Returns the approximate size of an answer if it may be large. It counts against the bytes that the connection
    /// has not read yet.
    func byteCount(_ answer: Answer) -> Int
}

extension EngineQuery {
    package func byteCount(_ answer: Answer) -> Int { 0 }

    /// Returns the answer as the engine sends it.
    func reply(_ engine: Engine, _ asker: EngineConnection, now: Int64) throws(StoreError) -> EngineReply {
        let answer = try self.answer(engine, asker, now: now)
        return .answer(answer, byteCount: self.byteCount(answer))
    }
}
