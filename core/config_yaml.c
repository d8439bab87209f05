/* config_yaml.c - YAML text as a tree in which every node knows its line and column;
 * the only user of <yaml.h>.
 *
 * libyaml's events are taken rather than its documents: an alias stays one node here,
 * so that a bomb of aliases costs nothing until it is refused. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "util/utf8.h"

/* Far above what a configuration needs, far below what costs a second. */
#define MAX_DEPTH 64
#define MAX_WEIGHT 1000000u
#define MAX_ANCHORS 1000
#define MAX_ALIASES 10000

struct anchor {
    char *name;
    struct hf__yaml_node *node;
};

struct build {
    const char *file;
    struct hf__yaml *yaml;
    struct hf__yaml_node *open[MAX_DEPTH]; /* lists and maps that have not ended */
    char *open_anchor[MAX_DEPTH];          /* theirs, known once they are complete */
    int depth;
    int documents;
    struct anchor anchors[MAX_ANCHORS];
    size_t n_anchors, n_aliases;
    struct hf_error *err;
};

static int
no_memory(struct build *b)
{
    return hf_error_set(b->err, HF_NO_MEMORY, b->file, "out of memory reading %s",
                        b->file);
}

static int
fail_at(struct build *b, const yaml_mark_t *at, const char *what)
{
    return hf_error_set(b->err, HF_CONFIG, b->file, "%s:%zu:%zu: %s", b->file,
                        at->line + 1, at->column + 1, what);
}

static struct hf__yaml_node *
node_new(struct build *b, enum hf__yaml_kind kind, const yaml_mark_t *at)
{
    struct hf__yaml_node *node = calloc(1, sizeof *node);

    if (!node)
        return NULL;
    node->kind = kind;
    node->line = (int)at->line + 1;
    node->column = (int)at->column + 1;
    node->weight = 1;
    node->next = b->yaml->nodes;
    b->yaml->nodes = node;
    return node;
}

/* Hangs NODE, which is complete, or will be when its end is seen, below what is open.
 */
static int
node_attach(struct build *b, struct hf__yaml_node *node)
{
    struct hf__yaml_node *parent;

    if (b->depth == 0) {
        b->yaml->root = node;
        return HF_OK;
    }
    parent = b->open[b->depth - 1];
    if (parent->n == parent->cap) {
        size_t cap = parent->cap ? parent->cap * 2 : 4;
        struct hf__yaml_node **items = realloc(parent->items, cap * sizeof *items);

        if (!items)
            return no_memory(b);
        parent->items = items;
        parent->cap = cap;
    }
    parent->items[parent->n++] = node;
    return HF_OK;
}

static void
node_count(struct hf__yaml_node *parent, const struct hf__yaml_node *child)
{
    parent->weight += child->weight;
    if (child->depth + 1 > parent->depth)
        parent->depth = child->depth + 1;
}

/* A later anchor of the same name stands from then on. */
static int
anchor_add(struct build *b, const char *name, struct hf__yaml_node *node,
           const yaml_mark_t *at)
{
    size_t i;

    for (i = 0; i < b->n_anchors; i++)
        if (strcmp(b->anchors[i].name, name) == 0) {
            b->anchors[i].node = node;
            return HF_OK;
        }
    if (b->n_anchors == MAX_ANCHORS)
        return fail_at(b, at, "too many anchors: at most 1000 are allowed");
    b->anchors[i].name = strdup(name);
    if (!b->anchors[i].name)
        return no_memory(b);
    b->anchors[i].node = node;
    b->n_anchors++;
    return HF_OK;
}

static int
on_alias(struct build *b, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct hf__yaml_node *node, *target = NULL;
    size_t i;
    int k;

    if (++b->n_aliases > MAX_ALIASES)
        return fail_at(b, &event->start_mark,
                       "too many aliases: at most 10000 are allowed");
    for (i = 0; i < b->n_anchors && !target; i++)
        if (strcmp(b->anchors[i].name, name) == 0)
            target = b->anchors[i].node;
    for (k = 0; k < b->depth && !target; k++)
        if (b->open_anchor[k] && strcmp(b->open_anchor[k], name) == 0)
            return fail_at(b, &event->start_mark, "an alias inside its own anchor");
    if (!target)
        return fail_at(b, &event->start_mark,
                       "an alias of an anchor that is not there");
    if (target->depth + b->depth > MAX_DEPTH)
        return fail_at(b, &event->start_mark,
                       "aliases nested too deeply: at most 64 levels are allowed (an "
                       "anchor bomb?)");
    node = node_new(b, HF__YAML_ALIAS, &event->start_mark);
    if (!node)
        return no_memory(b);
    node->target = target;
    node->weight = target->weight;
    node->depth = target->depth;
    if (node->weight > MAX_WEIGHT)
        return fail_at(b, &event->start_mark,
                       "an anchor bomb: written out, this alias would be over 1000000 "
                       "values");
    if (b->depth > 0)
        node_count(b->open[b->depth - 1], node);
    return node_attach(b, node);
}

static int
known_tag(const yaml_char_t *tag)
{
    return !tag || strcmp((const char *)tag, "!") == 0 ||
           strncmp((const char *)tag, "tag:yaml.org,2002:", 18) == 0;
}

static int
on_scalar(struct build *b, const yaml_event_t *event)
{
    const yaml_char_t *tag = event->data.scalar.tag;
    struct hf__yaml_node *node = node_new(b, HF__YAML_SCALAR, &event->start_mark);

    if (!node)
        return no_memory(b);
    node->len = event->data.scalar.length;
    node->text = malloc(node->len + 1);
    if (!node->text)
        return no_memory(b);
    memcpy(node->text, event->data.scalar.value, node->len);
    node->text[node->len] = '\0';
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tag) /* a tag of YAML's own says it outright */
        node->plain = strcmp((const char *)tag, YAML_STR_TAG) != 0 &&
                      strcmp((const char *)tag, "!") != 0;
    node->tagged = !known_tag(tag);
    if (b->depth > 0)
        node_count(b->open[b->depth - 1], node);
    if (event->data.scalar.anchor &&
        anchor_add(b, (const char *)event->data.scalar.anchor, node,
                   &event->start_mark))
        return b->err->code;
    return node_attach(b, node);
}

static int
on_open(struct build *b, enum hf__yaml_kind kind, const yaml_char_t *anchor,
        const yaml_char_t *tag, const yaml_mark_t *at)
{
    struct hf__yaml_node *node;
    int rc;

    if (b->depth == MAX_DEPTH)
        return fail_at(b, at, "nested too deeply: at most 64 levels are allowed");
    node = node_new(b, kind, at);
    if (!node)
        return no_memory(b);
    node->tagged = !known_tag(tag);
    rc = node_attach(b, node);
    if (rc != HF_OK)
        return rc;
    b->open_anchor[b->depth] = NULL;
    if (anchor && !(b->open_anchor[b->depth] = strdup((const char *)anchor)))
        return no_memory(b);
    b->open[b->depth++] = node;
    return HF_OK;
}

static int
on_close(struct build *b, const yaml_mark_t *at)
{
    struct hf__yaml_node *node = b->open[--b->depth];
    char *anchor = b->open_anchor[b->depth];
    int rc = HF_OK;

    if (b->depth > 0)
        node_count(b->open[b->depth - 1], node);
    if (anchor)
        rc = anchor_add(b, anchor, node, at);
    free(anchor);
    return rc;
}

static int
on_event(struct build *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->documents++ > 0)
            return fail_at(b, &event->start_mark,
                           "a second document: one configuration file is one document");
        return HF_OK;
    case YAML_ALIAS_EVENT:
        return on_alias(b, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(b, HF__YAML_LIST, event->data.sequence_start.anchor,
                       event->data.sequence_start.tag, &event->start_mark);
    case YAML_MAPPING_START_EVENT:
        return on_open(b, HF__YAML_MAP, event->data.mapping_start.anchor,
                       event->data.mapping_start.tag, &event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(b, &event->start_mark);
    default:
        return HF_OK;
    }
}

/* libyaml reports bytes that it cannot read by offset alone, and a NUL as a control
 * character; both are found here first, with their place. */
static int
check_bytes(const char *file, const char *text, size_t len, struct hf_error *err)
{
    size_t at = 0, line = 1, column = 1;

    while (at < len) {
        int32_t cp;
        size_t n = hf__utf8_next(text + at, len - at, &cp);

        if (cp < 0)
            return hf_error_set(err, HF_CONFIG, file,
                                "%s:%zu:%zu: byte 0x%02x is not valid UTF-8", file,
                                line, column, (unsigned char)text[at]);
        if ((cp < 0x20 && cp != '\n' && cp != '\r' && cp != '\t') || cp == 0x7f)
            return hf_error_set(err, HF_CONFIG, file,
                                "%s:%zu:%zu: a %s byte (0x%02x) has no place in a "
                                "configuration file",
                                file, line, column, cp == 0 ? "NUL" : "control",
                                (unsigned)cp);
        column++;
        if (cp == '\n' || (cp == '\r' && (at + 1 >= len || text[at + 1] != '\n'))) {
            line++;
            column = 1;
        }
        at += n;
    }
    return HF_OK;
}

static int
parser_fail(struct build *b, const yaml_parser_t *parser)
{
    const yaml_mark_t *at = parser->problem_mark.line || parser->problem_mark.column
                                ? &parser->problem_mark
                                : &parser->mark;
    char text[300];

    if (parser->error == YAML_MEMORY_ERROR)
        return no_memory(b);
    if (parser->context)
        snprintf(text, sizeof text, "bad YAML: %s %s (which began on line %zu)",
                 parser->problem ? parser->problem : "cannot be read", parser->context,
                 parser->context_mark.line + 1);
    else
        snprintf(text, sizeof text, "bad YAML: %s",
                 parser->problem ? parser->problem : "cannot be read");
    return fail_at(b, at, text);
}

int
hf__yaml_parse(const char *file, const char *text, size_t len, struct hf__yaml *ret,
               struct hf_error *err)
{
    struct hf__yaml yaml = {0};
    struct hf_error own;
    struct build *b = NULL;
    yaml_parser_t parser;
    yaml_event_t event;
    int rc, end = 0;
    size_t i;

    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        len -= 3;
    }
    rc = check_bytes(file, text, len, err);
    if (rc != HF_OK)
        return rc;
    b = calloc(1, sizeof *b);
    if (!b || !yaml_parser_initialize(&parser)) {
        free(b);
        return hf_error_set(err, HF_NO_MEMORY, file, "out of memory reading %s", file);
    }
    b->file = file;
    b->yaml = &yaml;
    b->err = err ? err : &own;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    while (rc == HF_OK && !end) {
        if (!yaml_parser_parse(&parser, &event)) {
            rc = parser_fail(b, &parser);
            break;
        }
        end = event.type == YAML_STREAM_END_EVENT;
        rc = on_event(b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    while (b->depth > 0)
        free(b->open_anchor[--b->depth]);
    for (i = 0; i < b->n_anchors; i++)
        free(b->anchors[i].name);
    free(b);
    if (rc == HF_OK)
        *ret = yaml;
    else
        hf__yaml_free(&yaml);
    return rc;
}

void
hf__yaml_free(struct hf__yaml *yaml)
{
    struct hf__yaml_node *node = yaml->nodes, *next;

    for (; node; node = next) {
        next = node->next;
        free(node->text);
        free(node->items);
        free(node);
    }
    yaml->nodes = yaml->root = NULL;
}

const struct hf__yaml_node *
hf__yaml_real(const struct hf__yaml_node *node)
{
    while (node->kind == HF__YAML_ALIAS)
        node = node->target;
    return node;
}

int
hf__yaml_is_null(const struct hf__yaml_node *node)
{
    node = hf__yaml_real(node);
    return node->kind == HF__YAML_SCALAR && node->plain &&
           (node->len == 0 || !strcmp(node->text, "~") || !strcmp(node->text, "null") ||
            !strcmp(node->text, "Null") || !strcmp(node->text, "NULL"));
}

const char *
hf__yaml_kind_name(const struct hf__yaml_node *node)
{
    node = hf__yaml_real(node);
    return hf__yaml_is_null(node)        ? "nothing (null)"
           : node->kind == HF__YAML_LIST ? "a list"
           : node->kind == HF__YAML_MAP  ? "a mapping"
           : node->plain                 ? "a plain value"
                                         : "a text";
}

const char *
hf__yaml_key(const struct hf__yaml_node *node)
{
    node = hf__yaml_real(node);
    return node->kind == HF__YAML_SCALAR && strlen(node->text) == node->len ? node->text
                                                                            : NULL;
}
