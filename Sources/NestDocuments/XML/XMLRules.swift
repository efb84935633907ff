import NestModel

extension Limits {
    /// The maximum size of one tag or comment of an XML document: enough for three values whose every byte is a
    /// reference.
    static let xmlMarkupBytesMax = 20 * Limits.valueBytesMax
    /// How deep the elements of an OPML document may nest: the levels of an outline, and elements around and in it.
    static let outlineElementDepthMax = Limits.depthMax + 32
    /// How deep the elements of a model's XML may nest, and the values of its JSON.
    public static let modelFileDepthMax = 32
}

/// The rules for one kind of XML documents.
struct XMLRules: Sendable {
    /// The name of the content in error messages.
    var subject: String
    /// Whether processing instructions are skipped; otherwise they are refused.
    var skipsInstructions: Bool
    /// How deep elements may nest.
    var depthMax: Int

    /// The rules for OPML: other programs add instructions such as style sheets, and some write a blank line before the
    /// declaration.
    static let outline = XMLRules(
        subject: "outline",
        skipsInstructions: true,
        depthMax: Limits.outlineElementDepthMax
    )

    /// The rules for Core Data's XML: Xcode writes no instructions, so an instruction may mean something that nest
    /// would miss.
    static let model = XMLRules(subject: "model", skipsInstructions: false, depthMax: Limits.modelFileDepthMax)
}
