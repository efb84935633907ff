import NestModel
import NestStore

/// Errors of the engine's functions that declare no type, as errors of the store.
enum StoreErrorBox {
    static func storeError(_ error: any Error) -> StoreError {
        switch error {
        case let error as StoreError: error
        case let error as NestError: .refused(error)
        default: .sqlite(code: 1, message: "\(error)")
        }
    }

    /// The refusal that an error is; `nil` for a failure.
    static func refusal(_ error: any Error) -> NestError? { self.storeError(error).refusal }

    /// Runs code without an error type where the store wants one.
    static func typed<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
        do {
            return try body()
        } catch {
            throw self.storeError(error)
        }
    }
}
