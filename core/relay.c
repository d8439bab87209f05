/* relay.c - between a backend's emit and the embedder's: what a module of another age
 * emits is copied over a zeroed struct of ours, and after a stop nothing more arrives,
 * even from a backend that goes on. */
#include "internal.h"

int
hf__relay_session(void *ctx, const struct hf_session *session)
{
    struct hf__relay *relay = ctx;
    struct hf_session mine;

    if (relay->stop)
        return relay->stop;
    hf__abi_copy(&mine, sizeof mine, session);
    relay->seen++;
    relay->stop = relay->emit.session(relay->ctx, &mine);
    return relay->stop;
}

int
hf__relay_message(void *ctx, const struct hf_message *message)
{
    struct hf__relay *relay = ctx;
    struct hf_message mine;

    if (relay->stop)
        return relay->stop;
    hf__abi_copy(&mine, sizeof mine, message);
    relay->seen++;
    relay->stop = relay->emit.message(relay->ctx, &mine);
    return relay->stop;
}

int
hf__relay_hit(void *ctx, const struct hf_hit *hit)
{
    struct hf__relay *relay = ctx;
    struct hf_hit mine;

    if (relay->stop)
        return relay->stop;
    hf__abi_copy(&mine, sizeof mine, hit);
    relay->seen++;
    relay->stop = relay->emit.hit(relay->ctx, &mine);
    return relay->stop;
}

int
hf__relay_finding(void *ctx, const struct hf_finding *finding)
{
    struct hf__relay *relay = ctx;
    struct hf_finding mine;

    if (relay->stop)
        return relay->stop;
    hf__abi_copy(&mine, sizeof mine, finding);
    relay->seen++;
    relay->stop = relay->emit.finding(relay->ctx, &mine);
    return relay->stop;
}

int
hf__relay_source(void *ctx, const struct hf_text *source, uint64_t sessions)
{
    struct hf__relay *relay = ctx;

    if (relay->stop || !relay->emit.source)
        return relay->stop;
    relay->seen++;
    relay->stop = relay->emit.source(relay->ctx, source, sessions);
    return relay->stop;
}

int
hf__relay_usage(void *ctx, const struct hf_usage *usage)
{
    struct hf__relay *relay = ctx;
    struct hf_usage mine;

    if (relay->stop)
        return relay->stop;
    hf__abi_copy(&mine, sizeof mine, usage);
    relay->seen++;
    relay->stop = relay->emit.usage(relay->ctx, &mine);
    return relay->stop;
}
