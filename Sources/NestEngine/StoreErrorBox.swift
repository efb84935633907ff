import NestModel
import NestStore

/// Tells failures of storage from the rest.
enum StoreErrorBox {
    static func storeError(_ error: any Error) -> StoreError {
        (error as? StoreError) ?? .sqlite(code: 1, message: "\(error)")
    }
}
