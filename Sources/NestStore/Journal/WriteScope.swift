import NestModel
import NestProtocol

/// The token scope of a transaction: the objects that its name and its conflicts may mention.
package struct WriteScope: Hashable, Sendable {
    /// `nil`: everything.
    package let limit: AccessConfinement?
    /// Whether the name was made in another scope, as the name of an undo or of a group may be.
    package let hasOtherName: Bool

    package static let everything = WriteScope(limit: nil)

    package init(limit: AccessConfinement?, hasOtherName: Bool = false) {
        self.limit = limit
        self.hasOtherName = limit != nil && hasOtherName
    }

    /// The scope in which the name was made; `nil`: everything, or unknown.
    package var nameLimit: AccessConfinement? { self.hasOtherName ? nil : self.limit }
}

extension ByteWriter {
    /// Precondition: the scope has a limit. The scope `everything` is not written.
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
