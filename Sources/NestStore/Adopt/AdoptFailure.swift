/// Why a store of Core Data was not adopted. Nothing was written.
package struct AdoptFailure: Error, Sendable, CustomStringConvertible {
    package enum Reason: Sendable {
        /// There is no such file.
        case missing
        /// The file cannot be read.
        case unreadable
        /// The file is no store of Core Data, or it is damaged.
        case damaged
        /// No version of the model fits the file.
        case otherModel
        /// There is already a file with the new store's name.
        case exists
        /// Another program changed the file while nestd read it.
        case changed
    }

    package let reason: Reason
    package let description: String

    init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}
