import NestModel
import NestProtocol
import NestSchema
import NestStore

/// The model that the server serves, with what its connections need of it. Another one takes its place when the model
/// is changed; each connection changes to that at its own place in the order of its frames.
package final class ServedModel: Sendable {
    package let model: ManagedObjectModel
    package let hash: UInt64
    /// The body of MODEL.
    package let body: SharedBytes
    /// The body of MODEL_CHANGED.
    package let changeBody: SharedBytes
    /// Reads the store with the model's layout, on any thread.
    package let reader: StoreReader

    init(_ store: Store) {
        self.model = store.layout.model
        self.hash = store.layout.modelHash
        self.reader = store.reader
        self.body = SharedBytes(ModelMessage(self.model).body)
        self.changeBody = SharedBytes(ModelChanged(self.model, hash: self.hash).body)
    }
}
