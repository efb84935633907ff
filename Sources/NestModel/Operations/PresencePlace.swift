/// Where a client is, as the clients of nest show it in the bytes of a presence.
public struct PresencePlace: Hashable, Sendable {
    /// A selection in a text, in UTF-16 code units. Without a selected range both numbers are the caret.
    public struct Selection: Hashable, Sendable {
        /// Where the selection began.
        public var anchor: Int
        /// Where the caret is.
        public var head: Int

        public init(anchor: Int, head: Int) {
            self.anchor = anchor
            self.head = head
        }
    }

    /// The object that the client shows as selected, for example a row.
    public var object: ObjectID?
    /// The attribute that it edits.
    public var property: PropertyNumber?
    /// The selection in the text of that attribute.
    public var selection: Selection?

    public init(object: ObjectID? = nil, property: PropertyNumber? = nil, selection: Selection? = nil) {
        self.object = object
        self.property = property
        self.selection = selection
    }
}
