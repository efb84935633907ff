import NestModel
import NestStore

/// The deterministic core (placeholder, replaced by the core work under way).
///
/// Not Sendable: created and used on one thread.
package final class Engine {
    package init(store: Store) {}

    /// `now`: microseconds since 1970-01-01 UTC.
    package func perform(_ inputs: [EngineInput], now: Int64) -> [EngineEffect] { [] }

    package var model: ManagedObjectModel { .nestedList }

    /// Checkpoints and closes the store. The last call.
    package func close() throws(StoreError) {}

    /// Set when the store failed in a way after which nothing may be acknowledged: the server must stop (exit 74).
    package var failure: StoreError? { nil }
}
