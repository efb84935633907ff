import NestModel
import NestProtocol

/// The token scope within which a transaction was written: what its name and its conflicts may tell of.
package struct WriteScope: Hashable, Sendable {
    /// `nil`: everything.
    package let limit: AccessConfinement?
    /// The name was made within another scope, as that of an undo or of a group may be.
    package let hasOtherName: Bool

    package static let everything = WriteScope(limit: nil)

    package init(limit: AccessConfinement?, hasOtherName: Bool = false) {
        self.limit = limit
        self.hasOtherName = limit != nil && hasOtherName
    }

    /// Within which the name was made; `nil`: everything, or nobody knows.
    package var nameLimit: AccessConfinement? { self.hasOtherName ? nil : self.limit }
}

extension ByteWriter {
    /// Only of one with a limit: everything is written as nothing.
    mutating func write(scope: WriteScope) {
        self.write(byte: scope.hasOtherName ? 1 : 0)
        self.write(confinement: scope.limit)
    }
}

extension ByteReader {
    mutating func writeScope() throws(DecodingFailure) -> WriteScope {
        let flags = try self.byte("scope")
        return WriteScope(limit: try self.confinement(), hasOtherName: flags & 1 != 0)
    }
}
