/* driver_user.c - uses the driver itself, which weft-cuda check says before it runs; never loaded.
 */
int cuInit(unsigned flags);
int remote_driver_user(void);
int remote_driver_user(void)
{
    return cuInit(0);
}
