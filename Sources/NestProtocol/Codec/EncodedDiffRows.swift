import NestModel

/// The inserted and updated rows of a diff in their byte form, ascending. Code that has rows as bytes copies them
/// here.
package struct EncodedDiffRows: Sendable {
    package private(set) var insertedCount = 0
    package private(set) var updatedCount = 0
    private(set) var inserted = ByteWriter()
    private(set) var updated = ByteWriter()

    package init() {}

    package var isEmpty: Bool { self.insertedCount == 0 && self.updatedCount == 0 }

    /// `values` writes the values in the order of the projection.
    package mutating func insert(_ id: ObjectID, at path: RowPosition, _ values: (inout ByteWriter) -> Void) {
        self.insertedCount += 1
        self.inserted.write(path: path)
        self.inserted.write(objectID: id)
        values(&self.inserted)
    }

    /// `values` writes `count` pairs of a property's number and its new value.
    package mutating func update(at path: RowPosition, count: Int, _ values: (inout ByteWriter) -> Void) {
        self.updatedCount += 1
        self.updated.write(path: path)
        self.updated.write(count: count)
        values(&self.updated)
    }
}
