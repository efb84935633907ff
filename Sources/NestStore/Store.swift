import NestModel

/// The one writer of a store (placeholder, replaced by the core work under way).
package final class Store {
    package let reader: StoreReader

    package struct Configuration: Sendable {
        package enum Location: Sendable, Equatable {
            case file(String)
            /// A private directory of the machine's memory file system, removed at the end.
            case memory
        }

        package var location: Location
        package var model: ManagedObjectModel

        package init(location: Location, model: ManagedObjectModel) {
            self.location = location
            self.model = model
        }
    }

    package init(_ configuration: Configuration, newHistoryID: Identifier128) throws(StoreError) {
        self.reader = StoreReader(path: "", model: configuration.model, spoolDirectory: "/tmp")
    }

    package static var sqliteVersion: String { "" }

    package func close() throws(StoreError) {}
}
