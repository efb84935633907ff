import NestModel

/// What names an object in requests and changes: an id, a row, or what `ObjectContext.insert` has returned.
public protocol ObjectReferring: MutationValueConvertible {
    var objectReference: ObjectReference { get }
}

extension ObjectReferring {
    public var mutationValue: MutationValue { .reference(self.objectReference) }
}

extension ObjectReference: ObjectReferring {
    public var objectReference: ObjectReference { self }
}

extension ObjectID: ObjectReferring {
    public var objectReference: ObjectReference { .object(self) }
}

extension Row: ObjectReferring {
    public var objectReference: ObjectReference { .object(self.id) }
}

extension OutlineState.Row: ObjectReferring {
    public var objectReference: ObjectReference { .object(self.id) }
}

extension ObjectReferring where Self == ObjectReference {
    public static func object(_ id: ObjectID) -> ObjectReference { ObjectReference(rawValue: id.rawValue) }
}
