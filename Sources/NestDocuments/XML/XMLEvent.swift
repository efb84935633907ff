/// One part of an XML document, in the order of the text.
enum XMLEvent: Sendable {
    /// An element begins, and the location is where its start tag ends. Its attributes and its declarations of
    /// namespaces are in the order of the file, each name once.
    case begin(_ name: String, attributes: [(name: String, value: String)], at: TextLocation)
    /// The innermost open element ends.
    case end
    /// Text between the tags, with references replaced. Longer text is split into several events.
    case text(String)
    case comment
    /// A processing instruction, such as a style sheet. The XML declaration is none.
    case instruction
}
