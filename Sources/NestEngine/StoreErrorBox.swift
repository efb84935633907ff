import NestModel
import NestStore

/// Tells failures of storage from the rest.
enum StoreErrorBox {
    static func storeError(_ error: any Error) -> StoreError {
        (error as? StoreError) ?? .sqlite(code: 1, message: "\(error)")
    }
}

extension StoreError {
    /// After these nothing may be acknowledged any more: what has reached the disk is not known.
    var isFatal: Bool {
        switch self {
        case .sqlite(let code, _):
            // IOERR, CORRUPT, NOTADB
            [10, 11, 26].contains(code & 0xff)
        case .corrupt:
            true
        default:
            false
        }
    }
}
