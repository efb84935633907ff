/// One fault of the state that a transaction would leave. A refusal lists all of them.
public struct ValidationFault: Hashable, Sendable {
    public enum Reason: UInt8, Sendable, CaseIterable, CustomStringConvertible {
        /// A required attribute or relationship has no value.
        case required = 1
        case type = 2
        case tooLarge = 3
        /// The text is not well-formed.
        case text = 4
        /// A value, length or count is below the minimum or above the maximum, or a text does not match its regular
        /// expression.
        case range = 5
        /// Another object has the same values.
        case notUnique = 6
        /// The destination of a relationship does not exist or has the wrong entity.
        case destination = 7
        case unknownProperty = 8
        /// One step sets the property more than once.
        case setTwice = 9
        /// A reason that this version does not know.
        case other = 0

        public var description: String {
            switch self {
            case .required: "required"
            case .type: "type"
            case .tooLarge: "tooLarge"
            case .text: "text"
            case .range: "range"
            case .notUnique: "notUnique"
            case .destination: "destination"
            case .unknownProperty: "unknownProperty"
            case .setTwice: "setTwice"
            case .other: "other"
            }
        }
    }

    public var entity: EntityNumber
    public var property: PropertyNumber?
    /// `nil` for an object that the transaction would insert.
    public var object: ObjectID?
    public var reason: Reason
    /// A sentence for people that names entity and property.
    public var message: String

    public init(
        entity: EntityNumber,
        property: PropertyNumber? = nil,
        object: ObjectID? = nil,
        reason: Reason,
        message: String
    ) {
        self.entity = entity
        self.property = property
        self.object = object
        self.reason = reason
        self.message = message
    }
}
